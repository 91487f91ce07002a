"""The operators that a program may call: an allow-list, so that an archive can ask for nothing else.

The list holds operators that compute on their arguments only: none reads a file, gives out memory that was not
written, changes the storage of a tensor, or leaves the aten namespace. An operator is added by name after its
arguments were looked at, never by a pattern.
"""

from __future__ import annotations

from cnet.models.programs.document import Call

_DEFAULT_OVERLOAD = """
abs acos adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d addmm
alias all alpha_dropout amax amin arange argmax argmin argsort asin atan atan2 avg_pool1d avg_pool2d avg_pool3d
baddbmm batch_norm bilinear bitwise_not bmm cat ceil celu channel_shuffle chunk clamp clamp_max clamp_min clone
constant_pad_nd contiguous conv1d conv2d conv3d cos cosh cosine_similarity cross cumprod cumsum detach_ detach diag
diagonal diff dot dropout dropout_ elu embedding erf exp exp2 expand expand_as expm1 eye feature_dropout flip floor
fmod frac full full_like gather gelu glu group_norm hardsigmoid hardsigmoid_ hardswish hardswish_ hardtanh_ hardtanh
index_select instance_norm isfinite isinf isnan kthvalue layer_norm leaky_relu leaky_relu_ lift_fresh_copy
linalg_vector_norm linear log log10 log1p log2 log_sigmoid logaddexp logical_and logical_not logical_or logical_xor
logsumexp masked_select matmul matrix_H max max_pool1d max_pool2d max_pool3d maximum mean median meshgrid min
minimum mish mm mul mv native_group_norm native_layer_norm neg new_full new_ones new_zeros nonzero ones ones_like
pad permute pixel_shuffle pixel_unshuffle prelu prod rad2deg reciprocal reflection_pad1d reflection_pad2d relu relu_
relu6 remainder repeat replication_pad1d replication_pad2d reshape rms_norm roll rot90 round rsqrt
scaled_dot_product_attention selu selu_ sgn sigmoid sigmoid_ sign silu_ silu sin sinh softplus sort split
split_with_sizes sqrt square squeeze stack std sub sum swapaxes t take_along_dim tan tanh_ tanh tile topk trace tril
triu trunc type_as unfold unsqueeze upsample_bilinear2d upsample_nearest2d var var_mean vdot view view_as
_weight_norm where zeros zeros_like
"""

_OTHER_OVERLOADS = """
add.Scalar add.Tensor add_.Scalar add_.Tensor addcdiv addcmul all.dim __and__.Tensor any.default any.dim
arange.start arange.start_step argsort.stable bernoulli_.float bitwise_and.Scalar bitwise_and.Tensor
bitwise_or.Tensor chunk.default clamp.Tensor clamp_.default clamp_min_.default conv1d.padding conv2d.padding
conv_depthwise3d.default conv_transpose1d.default conv_transpose2d.input conv_transpose3d.input copy_.default
cross_entropy_loss.default div.Scalar div.Scalar_mode div.Tensor div.Tensor_mode div_.Scalar div_.Tensor
einsum.default eq.Scalar eq.Tensor exp_.default fill.Scalar fill_.Scalar fill_.Tensor flatten.using_ints
floor_.default floor_divide.Scalar floor_divide.default ge.Scalar ge.Tensor gru.input gru_cell.default gt.Scalar
gt.Tensor index.Tensor index_put.default le.Scalar le.Tensor lerp.Scalar lerp.Tensor _log_softmax.default
log_softmax.int lstm.input lstm_cell.default lt.Scalar lt.Tensor masked_fill.Scalar masked_fill.Tensor
masked_fill_.Scalar max.dim max.other mean.dim median.dim min.dim min.other mul.Scalar mul.Tensor mul_.Scalar
mul_.Tensor ne.Scalar ne.Tensor new_empty.default norm.Scalar norm.ScalarOpt_dim norm.ScalarOpt_dim_dtype
__or__.Tensor pow.Scalar pow.Tensor_Scalar pow.Tensor_Tensor prod.dim_int rand.default rand_like.default
remainder.Scalar remainder.Tensor repeat_interleave.self_Tensor repeat_interleave.self_int rnn_relu.input
rnn_relu_cell.default rnn_tanh.input rnn_tanh_cell.default rsub.Scalar scatter.src scatter.value scatter_add.default
select.int slice.Tensor _softmax.default softmax.int split.Tensor split.sizes split_with_sizes.default squeeze.dim
squeeze.dims std.correction std.dim sub.Scalar sub.Tensor sub_.Scalar sub_.Tensor sum.dim_IntList sym_numel.default
sym_size.int to.device to.dtype to.dtype_layout to.other transpose.int unbind.int unflatten.int
upsample_bicubic2d.vec upsample_bilinear2d.default upsample_bilinear2d.vec upsample_linear1d.vec
upsample_nearest1d.vec upsample_nearest2d.vec upsample_nearest3d.vec upsample_trilinear3d.vec var.correction var.dim
var_mean.correction where.Scalar where.ScalarOther where.ScalarSelf where.self __xor__.Tensor zero_.default
"""

TENSOR_OPERATORS = frozenset(f"aten.{name}.default" for name in _DEFAULT_OVERLOAD.split()) | frozenset(
    f"aten.{name}" if "." in name else f"aten.{name}.default" for name in _OTHER_OVERLOADS.split()
)
"""Operators on tensors, as ``aten.NAME.OVERLOAD``."""

SIZE_FUNCTIONS = frozenset(
    [
        *(
            f"operator.{name}"
            for name in [
                "add",
                "sub",
                "mul",
                "floordiv",
                "mod",
                "truediv",
                "pow",
                "neg",
                "eq",
                "ne",
                "lt",
                "le",
                "gt",
                "ge",
                "and_",
                "or_",
                "not_",
                "getitem",
            ]
        ),
        *(f"math.{name}" for name in ["ceil", "floor", "trunc"]),
        *(f"torch.sym_{name}" for name in ["max", "min", "int", "float", "not", "ite", "sqrt", "sum"]),
    ]
)
"""Functions on sizes: plain numbers when the program runs."""

CHECKS = frozenset(
    [
        *("aten._assert_tensor_metadata.default", "aten._assert_scalar.default", "aten._assert_async.msg"),
        *("aten.sym_constrain_range.default", "aten.sym_constrain_range_for_size.default"),
    ]
)
"""Calls that only check what was assumed in exporting: they are left out, since inputs are checked before each run."""

FILLED = frozenset({"aten.new_empty.default"})
"""Operators that give unwritten memory: allowed only where the first call that takes their result fills it."""

FILLS = frozenset({"aten.bernoulli_.float", "aten.fill_.Scalar", "aten.zero_.default"})

DRAWS = frozenset({"aten.bernoulli_.float", "aten.rand.default", "aten.rand_like.default"})
"""Operators that draw random numbers in training and evaluation alike; networks use them for stochastic depth."""

TRAINING_FLAG = {
    "aten.dropout.default": 2,
    "aten.dropout_.default": 2,
    "aten.feature_dropout.default": 2,
    "aten.alpha_dropout.default": 2,
    "aten.lstm.input": 6,
    "aten.gru.input": 6,
    "aten.rnn_tanh.input": 6,
    "aten.rnn_relu.input": 6,
    "aten.batch_norm.default": 5,
    "aten.instance_norm.default": 5,
}
"""Position of the argument that switches between training and evaluation."""

_RUNNING_MEAN = 3  # position of this argument of a normalization

NORMALIZATIONS = frozenset({"aten.batch_norm.default", "aten.instance_norm.default"})


def is_allowed(target: str) -> bool:
    """Whether a program may call ``target``."""
    return target in TENSOR_OPERATORS or target in SIZE_FUNCTIONS


def training_flag(call: Call) -> int | None:
    """Position of the argument of ``call`` that switches between training and evaluation; None where there is none.

    A normalization without running statistics always uses those of the batch and has no such switch.
    """
    position = TRAINING_FLAG.get(call.target)
    if position is None or len(call.args) <= position:
        return None
    always_batch = call.target in NORMALIZATIONS and call.args[_RUNNING_MEAN] is None
    return None if always_batch else position
