"""Questions about a mechanism in contact: can it jam, has it a solution, which forces are determined?"""
