import type { Fact } from './message.ts';

/** A value in Markdown. What is not ours goes into a code span, where neither markup nor a mention is read. */
export function factInMarkdown({ value, outside }: Fact): string {
  return outside ? `\`${withoutBackticks(value)}\`` : value;
}

/** A command in a Markdown code block. */
export function commandInMarkdown(command: string): string {
  return `\`\`\`\n${withoutBackticks(command)}\n\`\`\``;
}

/** No escape holds in code: a backtick would end it. */
function withoutBackticks(text: string): string {
  return text.replaceAll('`', "'");
}
