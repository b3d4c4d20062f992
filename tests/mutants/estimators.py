FAULTS: dict = {}
