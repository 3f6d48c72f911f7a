"""What kill -9, frozen processes and broken strategies do to accepted signals: nothing."""
