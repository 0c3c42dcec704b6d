"""The sandbox: the solver process, which builds, solves and measures one run after another."""
