"""What somebody does who follows the advice, and whether it came true."""
