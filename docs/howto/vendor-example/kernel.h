struct timer {
    struct timer *next;
    unsigned due;
};

/* When the next of the armed timers is due. */
unsigned timer_next(const struct timer *list);
