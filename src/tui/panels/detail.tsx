import { pad } from '../../cli/output/text.ts';
import { factsOf } from '../../cli/requests/facts.ts';
import type { LoggedRequest } from '../../store/request-log.ts';
import { heading, textLine } from '../lines.ts';
import type { Look } from '../look.ts';
import { Lines } from './lines.tsx';

export interface DetailProps {
  request: LoggedRequest | null;
  width: number;
  height: number;
  look: Look;
}

const LABEL_CELLS = 9;

/** The whole trail of one request. */
export function Detail({ request, width, height, look }: DetailProps) {
  const facts = request === null ? [] : factsOf(request, look.times);
  const lines = facts.map(([label, text]) => textLine(` ${pad(label, LABEL_CELLS)}${text}`, width, look));
  return (
    <Lines lines={[heading({ title: 'REQUEST' }, width, look), ...lines]} width={width} height={height} />
  );
}
