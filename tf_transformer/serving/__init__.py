"""Serving: TensorFlow Serving's REST and gRPC interfaces over the folder of an export.

::

    rest.py, grpc_services.py     the two interfaces
          answering.py            a request to its answer
     model_host.py   batching.py  which version answers; requests that run together
          version.py              a SavedModel and its signatures

What the extra ``[serve]`` brings is imported by the files of the upper two lines and ``server.py`` alone.
"""
