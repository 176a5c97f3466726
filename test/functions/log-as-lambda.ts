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

/** The events of this name among lines that Lambda printed. */
export function eventsNamed(event: string, printed: string): Record<string, unknown>[] {
  return printed.split('\n').flatMap((line) => {
    if (!line.includes(`"message":{`) || !line.includes(`"event":"${event}"`)) return [];
    const { message } = JSON.parse(line);
    return message.event === event ? [message] : [];
  });
}
