"""KindRules: how objects of a kind are decoded, defaulted, validated and printed. One module for each sort of kind."""
