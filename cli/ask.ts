/** Asks at a terminal. Typed text is shown only while a question with a visible answer is open: a secret pasted early is hidden. */
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { configError } from '../shared/base/errors.ts';
import { EXIT_INTERRUPTED } from './exit-codes.ts';
import { echo, note } from './output.ts';

export interface Questions {
  /** @returns the line without spaces around it; lines that came early answer the next questions */
  ask(question: string, shows: 'visible' | 'hidden'): Promise<string>;
  close(): void;
}

/** @param beforeStop what to keep when Ctrl-C ends the program */
export function openQuestions(beforeStop = async () => {}): Questions {
  let isVisible = false;
  const output = new Writable({
    write(chunk, _encoding, done) {
      if (isVisible) echo(String(chunk));
      done();
    },
  });
  const terminal = createInterface({ input: process.stdin, output, terminal: true, historySize: 0 });
  const lines = terminal[Symbol.asyncIterator]();
  terminal.on('line', () => {
    isVisible = false;
  });
  terminal.on('SIGINT', () => {
    note('\nStopped. The settings and the lake are unchanged.');
    void beforeStop().finally(() => {
      terminal.close();
      process.exit(EXIT_INTERRUPTED);
    });
  });

  return {
    async ask(question, shows) {
      // Text that was typed before the question stays hidden.
      terminal.write(null, { ctrl: true, name: 'e' });
      terminal.write(null, { ctrl: true, name: 'u' });
      isVisible = true;
      terminal.setPrompt(`${question}: `);
      terminal.prompt();
      isVisible = shows === 'visible';
      const line = await lines.next();
      // The terminal shows only the end of a line that was typed while it was visible.
      if (isVisible || shows === 'hidden') echo('\n');
      isVisible = false;
      if (line.done) throw configError('no_answer', 'The input ended before all questions were answered.');
      return line.value.trim();
    },
    close: () => terminal.close(),
  };
}
