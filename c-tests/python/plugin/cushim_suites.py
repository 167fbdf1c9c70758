"""What test suites of others want of pytest where they are run from an installed package."""
import pytest


@pytest.fixture(scope="class")
def initialize_from_pytest_config(request):
    """numba-cuda's tests take this from the conftest.py of its repository, which the wheel has not."""
    request.cls._dump_failed_filechecks = False
