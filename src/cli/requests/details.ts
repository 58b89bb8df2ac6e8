import type { LoggedRequest } from '../../store/request-log.ts';
import type { Terminal } from '../output/terminal.ts';
import { clean, pad, widthOf, wrap } from '../output/text.ts';
import { createTimeFormat } from '../output/time.ts';
import { factsOf } from './facts.ts';

const GAP = 2;

/** One request as lines, in the words of the dashboard. */
export function requestDetails(
  request: LoggedRequest,
  timezone: string,
  { palette, columns }: Terminal,
): string {
  const facts = factsOf(request, createTimeFormat(timezone));
  const width = Math.max(...facts.map(([name]) => widthOf(clean(name)))) + GAP;
  const lines = facts.flatMap(([name, text]) =>
    wrap(text, columns - width).map(
      (part, i) => `${palette.dim(pad(i === 0 ? clean(name) : '', width))}${part}`,
    ),
  );
  return [palette.bold(`Request (${timezone})`), '', ...lines].join('\n');
}
