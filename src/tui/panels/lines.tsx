import { Box, Text } from 'ink';
import type { Look } from '../../terminal/look.ts';
import { type Heading, heading } from '../../terminal/styled-lines.ts';

/** Size of a panel in cells, and its display settings. */
export interface Area {
  width: number;
  height: number;
  look: Look;
}

interface LinesProps extends Pick<Area, 'width' | 'height'> {
  lines: readonly string[];
}

/** A heading with lines below it. */
export function Section({ lines, ...props }: LinesProps & Heading & Area) {
  const { width, height, look } = props;
  return <Lines lines={[heading(props, width, look), ...lines]} width={width} height={height} />;
}

/**
 * Renders lines, already padded to the width, as one text node. A node per line would cost Yoga and Ink several times
 * as much on every frame. Extra lines are cut off at the bottom; missing lines stay blank.
 */
export function Lines({ lines, width, height }: LinesProps) {
  if (height <= 0) return null;
  const rows = Array.from({ length: height }, (_, i) => lines[i] ?? '');
  return (
    <Box width={width} height={height} flexShrink={0}>
      <Text>{rows.join('\n')}</Text>
    </Box>
  );
}
