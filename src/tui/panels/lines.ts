import type { Look } from '../../terminal/look.ts';
import { type Heading, heading } from '../../terminal/styled-lines.ts';

/** Size of a panel in cells, and its display settings. */
export interface Area {
  width: number;
  height: number;
  look: Look;
}

/** A heading with lines below it. */
export function section({ lines, ...props }: { lines: readonly string[] } & Heading & Area): string[] {
  const { width, height, look } = props;
  return [heading(props, width, look), ...lines].slice(0, Math.max(0, height));
}
