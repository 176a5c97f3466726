/**
 * Asks a person at a terminal. Until `close`, the terminal shows what is typed or pasted only while a question with a visible
 * answer is open. A secret that is pasted too early stays hidden.
 */
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { configError } from '../shared/errors.ts';
import { echo, note } from './output.ts';

export interface Questions {
  /** @returns the line without spaces around it; lines that came early answer the next questions */
  ask(question: string, shows: 'visible' | 'hidden'): Promise<string>;
  close(): void;
}

/** The exit code that shells report for a process that Ctrl-C ended. */
const EXIT_INTERRUPTED = 130;

export function openQuestions(): Questions {
  let isVisible = false;
  let waiting: { take(line: string): void; fail(error: Error): void } | undefined;
  let isClosed = false;
  const early: string[] = [];
  const output = new Writable({
    write(chunk, _encoding, done) {
      if (isVisible) echo(String(chunk));
      done();
    },
  });
  const terminal = createInterface({ input: process.stdin, output, terminal: true, historySize: 0 });
  terminal.on('line', (line) => {
    if (!isVisible && waiting) echo('\n');
    isVisible = false;
    if (waiting) waiting.take(line);
    else early.push(line);
    waiting = undefined;
  });
  terminal.on('SIGINT', () => {
    terminal.close();
    note('\nStopped. Nothing was written.');
    process.exit(EXIT_INTERRUPTED);
  });
  terminal.on('close', () => {
    isClosed = true;
    waiting?.fail(noAnswer());
  });

  return {
    async ask(question, shows) {
      // Text that was typed before the question stays hidden.
      terminal.write(null, { ctrl: true, name: 'e' });
      terminal.write(null, { ctrl: true, name: 'u' });
      isVisible = true;
      terminal.setPrompt(`${question}: `);
      terminal.prompt();
      isVisible = shows === 'visible' && early.length === 0;
      const first = early.shift();
      if (first !== undefined) echo('\n');
      if (first !== undefined) return first.trim();
      if (isClosed) throw noAnswer();
      const { promise, resolve, reject } = Promise.withResolvers<string>();
      waiting = { take: resolve, fail: reject };
      return (await promise).trim();
    },
    close: () => terminal.close(),
  };
}

function noAnswer() {
  return configError('no_answer', 'The input ended before all questions were answered. Nothing was written.');
}
