"""What an instruction does, one file per instruction set: the only user of capstone."""
