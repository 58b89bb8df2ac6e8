import { describe, expect, test } from 'vitest';
import { conversationKey } from '../../src/tiering/conversation-key.ts';

const start = [
  { role: 'system', content: 'You help.' },
  { role: 'user', content: 'Hello' },
];

describe('conversationKey()', () => {
  test('stays the same as the conversation goes on', () => {
    const later = [...start, { role: 'assistant', content: 'Hi' }, { role: 'user', content: 'More' }];
    expect(conversationKey({ messages: later })).toBe(conversationKey({ messages: start }));
  });

  test('differs by system prompt, tools and first user turn', () => {
    const keys = [
      conversationKey({ messages: start }),
      conversationKey({ messages: start, tools: [{ type: 'function' }] }),
      conversationKey({ messages: [{ role: 'system', content: 'Other' }, ...start.slice(1)] }),
      conversationKey({ messages: [...start.slice(0, 1), { role: 'user', content: 'Bye' }] }),
    ];
    expect(new Set(keys).size).toBe(keys.length);
  });

  test('prefers what the client says, session before prompt cache key, and tells neither', () => {
    const key = conversationKey({ sessionId: 'ann@example.com', promptCacheKey: 'c', messages: start });
    expect(conversationKey({ sessionId: 'ann@example.com', messages: [] })).toBe(key);
    expect(key).toMatch(/^session:[\w-]{43}$/);
    const cached = conversationKey({ promptCacheKey: 'c'.repeat(10_000), messages: start });
    expect(conversationKey({ promptCacheKey: 'c'.repeat(10_000), messages: [] })).toBe(cached);
    expect(cached).toMatch(/^cache:[\w-]{43}$/);
  });
});
