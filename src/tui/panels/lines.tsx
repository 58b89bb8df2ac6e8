import { Box, Text } from 'ink';

export interface LinesProps {
  lines: readonly string[];
  width: number;
  height: number;
}

/**
 * Lines that fit already, as one text: a node for each line would cost Yoga and Ink a multiple at every frame.
 * What is too much is cut at the bottom, what is missing stays blank.
 */
export function Lines({ lines, width, height }: LinesProps) {
  if (height <= 0) return null;
  const shown = Array.from({ length: height }, (_, i) => lines[i] ?? '');
  return (
    <Box width={width} height={height} flexShrink={0}>
      <Text>{shown.join('\n')}</Text>
    </Box>
  );
}
