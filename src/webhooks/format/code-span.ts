import type { Fact } from './message.ts';

/** A value in Markdown. External text is put into a code span, in which neither markup nor mentions work. */
export function factInMarkdown({ value, external }: Fact): string {
  return external ? `\`${withoutBackticks(value)}\`` : value;
}

/** A command in a Markdown code block. */
export function commandInMarkdown(command: string): string {
  return `\`\`\`\n${withoutBackticks(command)}\n\`\`\``;
}

/** Backticks can't be escaped in code. */
function withoutBackticks(text: string): string {
  return text.replaceAll('`', "'");
}
