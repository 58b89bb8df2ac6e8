import type { RequestView } from '../../reading/schemas.ts';
import { factsOf } from '../../terminal/request-facts.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import { clean, pad, widthOf, wrap } from '../../terminal/text.ts';
import { createTimeFormat } from '../../terminal/time.ts';

const GAP = 2;

/** The details of a request, as in the dashboard. */
export function requestDetails(
  request: RequestView,
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
