import type { ChatMessage } from './message.ts';

const PRIORITIES = { good: 3, warning: 4, danger: 5 };
/** Short codes of emoji that stand before the title. */
const TAGS = { good: 'white_check_mark', warning: 'warning', danger: 'rotating_light' };

/** ntfy (https://docs.ntfy.sh/publish/#publish-as-json), as plain text. Its topic is in the URL. */
export function formatNtfy({ tone, title, facts, command }: ChatMessage): object {
  const lines = facts.map(({ label, value }) => `${label}: ${value}`);
  return {
    title,
    message: [...lines, ...(command === undefined ? [] : [command])].join('\n'),
    priority: PRIORITIES[tone],
    tags: [TAGS[tone]],
  };
}

/** Where a message to a topic's URL is published as JSON: at the server, with the topic in the body. */
export function ntfyAddress(topicUrl: string): { url: string; topic: string } {
  const url = new URL(topicUrl);
  const segments = url.pathname.replace(/\/$/, '').split('/');
  const topic = segments.pop() ?? '';
  url.pathname = `${segments.join('/')}/`;
  return { url: url.href, topic };
}
