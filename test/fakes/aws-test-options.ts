/** A client that speaks to a server on the loopback, and tries again without waiting long. */
export function awsTestOptions(endpoint: string) {
  return {
    endpoint,
    region: 'us-east-1',
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
    maxAttempts: 3,
  };
}
