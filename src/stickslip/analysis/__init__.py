"""Questions about a mechanism in contact: can it jam, and sliding which way?"""
