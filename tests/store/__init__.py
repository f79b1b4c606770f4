import pytest

# A failed assertion of the contract should say what it compared, as one in a test file does.
pytest.register_assert_rewrite("tests.store.fs_contract")
