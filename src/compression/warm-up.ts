/**
 * A conversation with every kind of content, as JSON. Compressing it loads and compiles the code of a thread before
 * the first prompt.
 */
export function warmUpConversation(): string {
  return JSON.stringify([
    {
      role: 'user',
      content: `Which of these failed?\n${lines(80, (i) => `Paragraph ${i} says a few plain words.`)}`,
    },
    ...result(
      'rows',
      JSON.stringify(Array.from({ length: 120 }, (_, id) => ({ id, name: `item ${id}`, ok: id % 3 > 0 }))),
    ),
    ...result(
      'log',
      lines(160, (i) => `2026-01-01T00:00:${10 + (i % 50)}Z INFO worker-${i % 7} took job ${i * 37}`),
    ),
    ...result(
      'file',
      lines(160, (i) => `${i}\texport const value${i} = compute(${i % 9}); // line ${i}`),
    ),
    ...result(
      'file',
      lines(160, (i) => `${i}\texport const value${i} = compute(${i % 8}); // line ${i}`),
    ),
  ]);
}

function lines(count: number, line: (i: number) => string): string {
  return Array.from({ length: count }, (_, i) => line(i)).join('\n');
}

function result(name: string, content: string): object[] {
  const id = `call_${name}_${content.length}`;
  return [
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id, type: 'function', function: { name, arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: id, content },
  ];
}
