"""dgekit: the open workbench for the DMA stack of AWS Trainium."""

__version__ = "0.1.0"
