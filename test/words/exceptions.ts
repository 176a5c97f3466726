/** Phrases that stay, each with its reason. */
export const exceptions: readonly { file: string; found: string; reason: string }[] = [];
