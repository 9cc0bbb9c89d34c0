"""What a tensor holds before a run: given arrays, files, generated values."""

import ml_dtypes
import numpy as np
import pytest

from dgekit.core.dtypes import dtype_named
from dgekit.core.errors import InputError
from dgekit.machine.contents import dense_bytes, file_dtype, initial_bytes, load_npy
from dgekit.transfers.transfer import Tensor


def tensor(dtype="int16", shape=(2, 3), **more):
    return Tensor("t", "hbm", shape, dtype_named(dtype), **more)


def values(of, dtype, arrays=None):
    return initial_bytes(of, None, arrays or {}).view(dtype).tolist()


def test_generated_contents():
    assert values(tensor(init="zeros"), "<i2") == [0] * 6
    assert values(tensor(init="ones"), "<i2") == [1] * 6
    assert values(tensor(init="arange"), "<i2") == [0, 1, 2, 3, 4, 5]
    assert values(tensor("uint8", (300,), init="arange"), "u1")[250:] == [250, 251, 252, 253, 254, 255, *range(44)]
    assert values(tensor("bfloat16", (4,), init="arange"), ml_dtypes.bfloat16) == [0, 1, 2, 3]
    assert initial_bytes(tensor(), None, {}) is None


def test_random_contents_follow_the_seed():
    first, same, other = (initial_bytes(tensor(init="random", seed=s), None, {}).tobytes() for s in (1, 1, 2))
    assert first == same != other


def test_an_unknown_name_is_refused():
    with pytest.raises(InputError, match="'range'") as caught:
        initial_bytes(tensor(init="range"), None, {})
    assert (caught.value.rule, caught.value.where) == ("tensor.init", "t")


def test_bytes_given_are_filled_up_and_never_cut():
    assert values(tensor(), "u1", {"t": b"\1\2"}) == [1, 2] + [0] * 10
    with pytest.raises(InputError, match="13 bytes given for tensor t of 12 bytes") as caught:
        values(tensor(), "u1", {"t": bytes(13)})
    assert caught.value.rule == "tensor.shape"


def test_an_array_keeps_shape_and_type():
    good = np.arange(6, dtype=np.int16).reshape(2, 3)
    assert dense_bytes(good, tensor()).tobytes() == good.tobytes()
    assert dense_bytes(good.T.copy().T, tensor()).tobytes() == good.tobytes()  # Fortran order
    for wrong, rule in ((good.reshape(6), "tensor.shape"), (good.astype(np.float32), "dec.D54")):
        with pytest.raises(InputError) as caught:
            dense_bytes(wrong, tensor())
        assert caught.value.rule == rule
        assert set(caught.value.values) == {"given", "declared"}


def test_types_numpy_lacks_travel_as_raw_bits():
    """Decision D54: uint16 or V2 for bfloat16; float32 is refused."""
    assert file_dtype(dtype_named("bfloat16")) == np.uint16
    assert file_dtype(dtype_named("float8_e4m3")) == np.uint8
    assert file_dtype(dtype_named("float32")) == np.float32
    bits = np.array([[0x3F80, 0, 0x4000]], np.uint16)
    for form in (bits, bits.view("V2"), bits.view(ml_dtypes.bfloat16)):
        assert dense_bytes(form, tensor("bfloat16", (1, 3))).tobytes() == bits.tobytes()
    with pytest.raises(InputError):
        dense_bytes(bits.astype(np.float32), tensor("bfloat16", (1, 3)))


def test_npy_files(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(6, dtype=np.int16).reshape(2, 3))
    assert values(tensor(init=str(tmp_path / "a.npy")), "<i2") == [0, 1, 2, 3, 4, 5]
    assert initial_bytes(tensor(init="a.npy"), tmp_path, {}).size == 12
    (tmp_path / "b.npy").write_bytes(b"\x93NUMPY\1\0")
    np.save(tmp_path / "c.npy", np.array([{}], dtype=object), allow_pickle=True)
    for name in ("b.npy", "c.npy", "none.npy"):
        with pytest.raises(InputError) as caught:
            load_npy(tmp_path / name, "here")
        assert caught.value.rule in ("input.npy", "input.file")
