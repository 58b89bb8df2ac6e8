import type { RequestView } from '../../operations/schemas/requests.ts';
import { factsOf } from '../../terminal/request-facts.ts';
import { textLine } from '../../terminal/styled-lines.ts';
import { pad, wrap } from '../../terminal/text.ts';
import { type Area, section } from './lines.ts';

interface DetailProps extends Area {
  request: RequestView | null;
  focused?: boolean;
}

const LABEL_CELLS = 9;

export function drawDetail({ request, focused = false, ...area }: DetailProps): string[] {
  const { width, height, look } = area;
  const facts = request === null ? [] : factsOf(request, look.times);
  // Long facts go on in the lines that are left, and are cut without any.
  let spare = height - 1 - facts.length;
  const lines = facts.flatMap(([label, text]) => {
    const wrapped = wrap(text, width - LABEL_CELLS - 1);
    const parts = wrapped.length - 1 <= spare ? wrapped : [text];
    spare -= parts.length - 1;
    return parts.map((part, i) => textLine(` ${pad(i === 0 ? label : '', LABEL_CELLS)}${part}`, width, look));
  });
  return section({ ...area, title: 'REQUEST', focused, lines });
}
