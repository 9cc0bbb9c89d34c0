"""Layer 3 records: the 16-byte BD, completion entry and notification, packets, expansion of runs into BDs.

`bd`, `completion` and `notification` declare the records; `expand` turns what channels move (`batch.ChannelWork`) into
packets of BDs (`batch.DescriptorBatch`); `decode` reads them back.
"""
