/** Connects the real SDK clients to a double: its endpoint, fixed credentials and few attempts. */
export function awsTestOptions(endpoint: string) {
  return {
    endpoint,
    region: 'us-east-1',
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
    maxAttempts: 3,
  };
}
