import { Box, Text } from 'ink';

export interface LinesProps {
  lines: readonly string[];
  width: number;
  height: number;
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
