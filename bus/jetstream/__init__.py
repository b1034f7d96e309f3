"""The bus on NATS JetStream: one stream, queues cut out of it, an object store for blobs."""
