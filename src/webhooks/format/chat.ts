import type { WebhookFormat } from '../../store/webhooks/endpoints.ts';
import { formatDiscord } from './discord.ts';
import { formatGoogleChat } from './google-chat.ts';
import { formatMattermost } from './mattermost.ts';
import type { ChatMessage } from './message.ts';
import { formatNtfy } from './ntfy.ts';
import { formatSlack } from './slack.ts';
import { formatTeams } from './teams.ts';

/** The chat formats. To add one: a file here, its name in WEBHOOK_FORMATS, its URL in recognise.ts. */
export const CHAT_FORMATS: Record<Exclude<WebhookFormat, 'json'>, (message: ChatMessage) => object> = {
  slack: formatSlack,
  discord: formatDiscord,
  teams: formatTeams,
  'google-chat': formatGoogleChat,
  mattermost: formatMattermost,
  ntfy: formatNtfy,
};
