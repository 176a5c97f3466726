/** Makes `console` print as Lambda does if the format of the log is JSON: one line for each call. */
export function logAsLambda(): void {
  for (const level of ['debug', 'info', 'log', 'warn', 'error'] as const)
    console[level] = (message: unknown) => {
      const line = JSON.stringify({
        timestamp: new Date().toISOString(),
        level: level.toUpperCase(),
        message,
      });
      process.stdout.write(`${line}\n`);
    };
}
