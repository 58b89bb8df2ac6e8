import type { RequestView } from '../../operations/schemas/requests.ts';
import type { Look } from '../../terminal/look.ts';
import { factsOf } from '../../terminal/request-facts.ts';
import { heading, textLine } from '../../terminal/styled-lines.ts';
import { pad } from '../../terminal/text.ts';
import { Lines } from './lines.tsx';

export interface DetailProps {
  request: RequestView | null;
  width: number;
  height: number;
  look: Look;
}

const LABEL_CELLS = 9;

export function Detail({ request, width, height, look }: DetailProps) {
  const facts = request === null ? [] : factsOf(request, look.times);
  const lines = facts.map(([label, text]) => textLine(` ${pad(label, LABEL_CELLS)}${text}`, width, look));
  return (
    <Lines lines={[heading({ title: 'REQUEST' }, width, look), ...lines]} width={width} height={height} />
  );
}
