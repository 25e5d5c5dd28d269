"""Serving: TensorFlow Serving's REST and gRPC interfaces over the folder of an export.

::

    rest.py, grpc_services.py     the two interfaces
          answering.py            a request to its answer
     model_host.py   batching.py  which version answers; requests that run together
          version.py              a SavedModel and its signatures

A request is read by ``json_tensors.py`` or ``tensor_protos.py``. ``server.py`` joins all, and ``cli/serving.py`` gives it
what loads a version. The extra ``[serve]`` is needed for the interfaces, ``metrics.py`` and ``server.py`` alone.
"""
