"""What a replay's events say: which limit held when, what each kernel had, figures over time."""
