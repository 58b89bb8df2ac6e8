import type { RequestView } from '../../operations/schemas/requests.ts';
import { factsOf } from '../../terminal/request-facts.ts';
import { textLine } from '../../terminal/styled-lines.ts';
import { pad } from '../../terminal/text.ts';
import { type Area, section } from './lines.ts';

interface DetailProps extends Area {
  request: RequestView | null;
  focused?: boolean;
}

const LABEL_CELLS = 9;

export function drawDetail({ request, focused = false, ...area }: DetailProps): string[] {
  const { width, look } = area;
  const facts = request === null ? [] : factsOf(request, look.times);
  const lines = facts.map(([label, text]) => textLine(` ${pad(label, LABEL_CELLS)}${text}`, width, look));
  return section({ ...area, title: 'REQUEST', focused, lines });
}
