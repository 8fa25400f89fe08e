"""What kinds of several groups share: field checks, generations, selectors, warnings."""
