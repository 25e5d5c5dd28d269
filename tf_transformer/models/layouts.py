"""How a model's weights are split over devices: Keras' model parallelism, which its JAX backend has."""

import keras

_BESIDE = "query|key|value|gate|inner"
"""Projections each part of whose outputs needs a part of the weights alone."""


def layout_map(
    device_mesh: keras.distribution.DeviceMesh, axis: str = "model", *, split_tables: bool = True
) -> keras.distribution.LayoutMap:
    """Says which weights of our models are split over an axis of a mesh, and along which of their own axes.

    Attention is split by heads and the feed-forward network by its inner width, so that a block adds up what
    its devices found twice on the way forward ("Megatron-LM", Shoeybi et al., 2019, section 3). Tables of
    tokens are split by tokens, and with them the logits. What is not named is the same on all devices: norms,
    positions, and the biases of outputs. The moments of an optimizer are split as their weights are.

    Args:
        device_mesh: The devices; one of its axes splits weights, another one splits batches.
        axis: The name of the axis that splits weights. Their widths must be divisible by its size; where the
            number of heads is not, the result is the same, and slower.
        split_tables: Whether tables of tokens are split, too; vocabularies must then be divisible as well.

    Returns:
        What `keras.distribution.ModelParallel` takes, before the model is made.

    Raises:
        RuntimeError: If Keras has another backend than JAX: there nothing would be split, and nobody told.
        ValueError: If the mesh has no such axis.

    Example:
        >>> mesh = keras.distribution.DeviceMesh((2, 4), ("batch", "model"))  # doctest: +SKIP
        >>> keras.distribution.set_distribution(  # doctest: +SKIP
        ...     keras.distribution.ModelParallel(layout_map=layout_map(mesh), batch_dim_name="batch")
        ... )
    """
    if (backend := keras.backend.backend()) != "jax":
        raise RuntimeError(f"`layout_map` is for Keras' JAX backend (KERAS_BACKEND=jax). Received: {backend}")
    if axis not in device_mesh.axis_names:
        names = ", ".join(device_mesh.axis_names)
        raise ValueError(f"`axis` must be one of the mesh's axes, {names}. Received: axis={axis!r}")
    layouts = keras.distribution.LayoutMap(device_mesh)
    layouts[rf".*/({_BESIDE})_kernel"] = (None, axis)
    layouts[rf".*/({_BESIDE})_bias"] = (axis,)
    layouts[r".*/output_kernel"] = (axis, None)
    if split_tables:
        layouts[r"(.*/)?(\w+_)?embedding/table"] = (axis, None)
    return layouts
