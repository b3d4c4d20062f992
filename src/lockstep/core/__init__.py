"""What every part of Lockstep is made of: types, parts, arguments, users' functions, precision, progress."""
