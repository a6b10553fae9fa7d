"""Many runs of one function or scene over other parameters."""
