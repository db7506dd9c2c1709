"""Audit of a black box: what its reports prove about the budgets that it really spends."""
