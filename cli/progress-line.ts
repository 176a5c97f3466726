/** Without a terminal, days that ended and problems get a line each. Without the limit, a fast run would spend its time redrawing. */
import type { Log } from '../shared/log-events.ts';
import { note, redraw } from './output.ts';
import { withRunnableCommands } from './printed-command.ts';
import { afterEvent, errorLineOf, leftText, lineOf, progressText, startOfRun } from './run-progress.ts';
import { oneLine, truncate } from './terminal-text.ts';

const MIN_REDRAW_MS = 100;
/** The line is redrawn this often without any event, so that a wait counts down. */
const REDRAW_EVERY_MS = 500;

export interface ProgressDisplay {
  log: Log;
  end: () => void;
}

export function showProgress(): ProgressDisplay {
  let progress = startOfRun(Date.now());
  if (!process.stderr.isTTY)
    return {
      log(event) {
        progress = afterEvent(progress, event, Date.now());
        const line = lineOf(event);
        const left = event.event === 'day_ended' ? leftText(progress, Date.now()) : '';
        if (line !== undefined) note(withRunnableCommands(line) + left);
      },
      end() {},
    };
  let drawnMs = 0;
  const draw = () => {
    drawnMs = Date.now();
    showLine(progressText(progress, drawnMs));
  };
  const timer = setInterval(draw, REDRAW_EVERY_MS).unref();
  return {
    log(event) {
      progress = afterEvent(progress, event, Date.now());
      const errorLine = errorLineOf(event);
      if (errorLine !== undefined) note(withRunnableCommands(errorLine));
      if (errorLine !== undefined || Date.now() - drawnMs >= MIN_REDRAW_MS) draw();
    },
    end() {
      clearInterval(timer);
      showLine('');
    },
  };
}

/** Replaces the progress line by the text; does nothing if standard error is not a terminal. */
export function showLine(text: string): void {
  if (process.stderr.isTTY) redraw(truncate(oneLine(text), process.stderr.columns - 1));
}
