"""Serving: TensorFlow Serving's REST and gRPC interfaces over the folder of an export.

::

    rest.py, grpc_services.py     the two interfaces
          answering.py            a request to its answer
     model_host.py   batching.py  which version answers; requests that run together
          version.py              a SavedModel and its signatures

Requests are read by ``json_tensors.py`` and ``tensor_protos.py``. ``server.py`` joins all, and
``cli/serving.py`` gives it what loads a version. Only the interfaces, ``metrics.py``, ``connections.py`` and
``server.py`` need the extra ``[serve]``. The page is the files of ``page/``, which ask the REST interface.
"""
