/**
 * Publishes the metric `Problems` as a line in CloudWatch's embedded metric format, which Lambda's logs turn into the
 * metric. Not by `console`, which would wrap it.
 * @param namespace the stack's name
 */
export function countProblems(namespace: string, problems: number): void {
  const document = {
    _aws: {
      Timestamp: Date.now(),
      CloudWatchMetrics: [
        { Namespace: namespace, Dimensions: [[]], Metrics: [{ Name: 'Problems', Unit: 'Count' }] },
      ],
    },
    Problems: problems,
  };
  process.stdout.write(`${JSON.stringify(document)}\n`);
}
