"""What every benchmark uses: pairs of measurements, services, and the file of results."""
