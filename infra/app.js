import { launch } from '../cli/launch.js';

// The app of cdk.json: a `cdk` that was installed globally runs it with whatever Node is there.
await launch(new URL('./app.ts', import.meta.url));
