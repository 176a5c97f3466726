import { type GivenFlags, commandLine } from '../base/command-line.ts';
import { type Html, copyable, html } from './html.ts';

export interface Remedy {
  /** One sentence without its end. */
  sentence: string;
  start?: 'sync' | 'check';
}

/** How a reader of the page, or of a message, starts an action: by a command, or in the console at an address. */
export type Controls = (
  start: 'sync' | 'check',
  reports: readonly string[],
  brand: string,
) => { text: string; url?: string };

/** Actions as command lines, with the same flags as the calendar itself. */
export function commandControls(flags: GivenFlags & { lake: string }): Controls {
  const database = flags.lake.startsWith('s3://') ? 'NAME' : undefined;
  return (start, reports, brand) => {
    const words = [...(start === 'sync' ? reports : []), '--brand', brand];
    return { text: commandLine(start, words, { ...flags, database }) };
  };
}

export function control({ text, url }: ReturnType<Controls>): Html {
  if (url === undefined) return copyable(text);
  return html`<a href="${url}" target="_blank" rel="noopener">${text}</a>`;
}
