"use strict";
// When all parts are there.
sheet.start();
